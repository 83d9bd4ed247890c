;;; gradwright.el --- gradwright lsp for Eglot  -*- lexical-binding: t -*-

;; Emacs 29 or newer, or Emacs 28 with the package `eglot': load this file, and open a native_functions.yaml or
;; derivatives.yaml. Before Emacs 29, and with tree-sitter off, YAML needs the package `yaml-mode'.
;; Kernels and helpers are Python, for which Eglot has one server only: to have this one there, write
;; (setq gradwright-eglot-modes '(yaml-mode yaml-ts-mode python-mode python-ts-mode)) before this file is loaded.

(require 'eglot)

(defvar gradwright-eglot-modes '(yaml-mode yaml-ts-mode)
  "The modes that the server of gradwright is for.")

(add-to-list 'eglot-server-programs
             (cons gradwright-eglot-modes '("gradwright" "lsp")))

(defun gradwright-eglot ()
  "Start Eglot in the YAML of operators."
  (when (member (file-name-nondirectory (or buffer-file-name ""))
                '("native_functions.yaml" "derivatives.yaml" "samples.yaml"))
    (eglot-ensure)))

(add-hook 'yaml-mode-hook #'gradwright-eglot)
(add-hook 'yaml-ts-mode-hook #'gradwright-eglot)

(provide 'gradwright)
;;; gradwright.el ends here
