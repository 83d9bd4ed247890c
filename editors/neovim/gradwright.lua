-- Neovim 0.11: put this file into ~/.config/nvim/plugin/.
vim.lsp.config("gradwright", {
  cmd = { "gradwright", "lsp" },
  filetypes = { "yaml", "python", "cpp" },
  root_dir = function(buffer, use)
    -- Only where operators are: in a project with a table [tool.gradwright], or below a native_functions.yaml.
    local root = vim.fs.root(buffer, function(name, path)
      return name == "pyproject.toml"
        and table.concat(vim.fn.readfile(vim.fs.joinpath(path, name)), "\n"):find("[tool.gradwright]", 1, true)
    end) or vim.fs.root(buffer, "native_functions.yaml")
    if root then use(root) end
  end,
})
vim.lsp.enable("gradwright")

-- The lines above entries. Neovim 0.11 is not told when there are new ones, but of problems whenever they were looked for.
vim.api.nvim_create_autocmd({ "LspAttach", "DiagnosticChanged" }, {
  pattern = { "native_functions.yaml", "derivatives.yaml" },
  callback = function(event)
    if #vim.lsp.get_clients({ bufnr = event.buf, name = "gradwright" }) > 0 then
      vim.lsp.codelens.refresh({ bufnr = event.buf })
    end
  end,
})
