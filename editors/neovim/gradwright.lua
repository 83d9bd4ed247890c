-- Neovim 0.11 or newer: put this file into ~/.config/nvim/plugin/.
vim.lsp.config("gradwright", {
  cmd = { "gradwright", "lsp" },
  filetypes = { "yaml", "python", "cpp" },
  root_dir = function(buffer, use)
    -- Only where operators are: below a native_functions.yaml, or in a project with a table [tool.gradwright].
    local root = vim.fs.root(buffer, "native_functions.yaml")
    if not root then
      root = vim.fs.root(buffer, function(name, path)
        return name == "pyproject.toml"
          and table.concat(vim.fn.readfile(vim.fs.joinpath(path, name)), "\n"):find("[tool.gradwright]", 1, true)
      end)
    end
    if root then use(root) end
  end,
})
vim.lsp.enable("gradwright")

-- The lines above entries.
vim.api.nvim_create_autocmd({ "LspAttach", "BufWritePost" }, {
  pattern = { "native_functions.yaml", "derivatives.yaml" },
  callback = function(event) vim.lsp.codelens.refresh({ bufnr = event.buf }) end,
})
