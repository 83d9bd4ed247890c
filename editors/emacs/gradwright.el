;;; gradwright.el --- gradwright lsp for Eglot  -*- lexical-binding: t -*-

;; Emacs 29 or newer: load this file, and call `eglot' in a native_functions.yaml or derivatives.yaml.
;; Kernels and helpers are Python, for which Eglot has one server only: to have this one there, add `python-mode'.

(require 'eglot)

(add-to-list 'eglot-server-programs
             '((yaml-mode yaml-ts-mode) . ("gradwright" "lsp")))

(defun gradwright-eglot ()
  "Start Eglot in the YAML of operators."
  (when (member (file-name-nondirectory (or buffer-file-name ""))
                '("native_functions.yaml" "derivatives.yaml" "samples.yaml"))
    (eglot-ensure)))

(add-hook 'yaml-mode-hook #'gradwright-eglot)
(add-hook 'yaml-ts-mode-hook #'gradwright-eglot)

(provide 'gradwright)
;;; gradwright.el ends here
