-- Makes a mistake in derivatives.yaml, lets the server mend it, and prints what was seen, a line each.
local function seen(...) io.stdout:write(table.concat({ ... }, " ") .. "\n") end
local function await(what) if not vim.wait(60000, what, 20) then seen("waited in vain") vim.cmd("cquit!") end end
local function problems() return vim.diagnostic.get(0) end

vim.cmd.source(vim.env.SETTINGS)
vim.cmd.edit(vim.env.PROJECT .. "/mylib/derivatives.yaml")
await(function() return #vim.lsp.codelens.get(0) > 0 end)
seen("lens", vim.lsp.codelens.get(0)[1].command.title)
local client = vim.lsp.get_clients({ bufnr = 0 })[1]
seen("root", vim.fs.basename(client.root_dir))

vim.cmd("%s/sqrt()/sqrtt()/")
await(function() return #problems() > 0 end)
local problem = problems()[1]
local text = vim.api.nvim_buf_get_text(0, problem.lnum, problem.col, problem.end_lnum, problem.end_col, {})[1]
seen("problem", problem.code, text)

vim.api.nvim_win_set_cursor(0, { problem.lnum + 1, problem.col })
vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.isPreferred end })
await(function() return #problems() == 0 end)
seen("mended", tostring(vim.fn.search("sqrtt") == 0))

local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
local answer = vim.lsp.buf_request_sync(0, "textDocument/hover", place, 60000)
seen("hover", vim.split(answer[client.id].result.contents.value, "\n")[2])

vim.lsp.stop_client(client.id)
await(function() return #vim.lsp.get_clients() == 0 end)
vim.cmd("qall!")
