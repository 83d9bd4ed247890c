;;; Makes a mistake in derivatives.yaml, lets the server mend it, and prints what was seen, a line each.  -*- lexical-binding: t -*-
(package-initialize)
(require 'eglot)
(unless (require 'yaml-mode nil t)
  (define-derived-mode yaml-mode prog-mode "YAML")
  (add-to-list 'auto-mode-alist '("\\.yaml\\'" . yaml-mode)))
(load (getenv "SETTINGS") nil t)

(defun seen (&rest words) (princ (concat (mapconcat (lambda (each) (format "%s" each)) words " ") "\n")))
(defun await (what)
  (let ((end (+ (float-time) 60)))
    (while (not (funcall what))
      (when (> (float-time) end) (seen "waited in vain") (kill-emacs 1))
      (accept-process-output nil 0.05)
      (run-hooks 'post-command-hook))))

(find-file (concat (getenv "PROJECT") "/mylib/derivatives.yaml"))
(await #'eglot-managed-p)

(search-forward "sqrt")
(insert "t")
(eglot--signal-textDocument/didChange)
(await (lambda () (flymake-start) (flymake-diagnostics)))
(let ((problem (car (flymake-diagnostics))))
  (seen "problem" (buffer-substring (flymake-diagnostic-beg problem) (flymake-diagnostic-end problem))))

(backward-char 2)
(let ((answer (jsonrpc-request
               (eglot-current-server) :textDocument/codeAction
               (list :textDocument (eglot--TextDocumentIdentifier)
                     :range (list :start (eglot--pos-to-lsp-position) :end (eglot--pos-to-lsp-position))
                     :context (list :diagnostics [])))))
  (eglot--apply-workspace-edit (plist-get (aref answer 0) :edit) nil))
(eglot--signal-textDocument/didChange)
(await (lambda () (flymake-start) (not (flymake-diagnostics))))
(goto-char (point-min))
(seen "mended" (if (search-forward "sqrtt" nil t) "false" "true"))

(search-forward "sqrt")
(backward-char 1)
(let ((answer (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
  (seen "hover" (nth 1 (split-string (plist-get (plist-get answer :contents) :value) "\n"))))
