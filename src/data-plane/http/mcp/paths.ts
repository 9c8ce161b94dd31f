/** The addresses of the MCP endpoint. */

export const MCP_PATH = '/mcp'
/** Patterns of the router. `/mcp/sse` is the endpoint itself; another name is that of a tool set. */
export const JSON_RPC_PATHS: readonly string[] = ['', '/', '/{toolset}', '/{toolset}/'].map(
  rest => `${MCP_PATH}${rest}`,
)
const JSON_RPC_PATH = /^\/mcp(?:\/[^/]*)?\/?$/

export function isJsonRpcPath(path: string): boolean {
  return JSON_RPC_PATH.test(path)
}

/** True for the endpoint with all tools, without the name of a tool set. */
export function isWholeEndpoint(path: string): boolean {
  return path === MCP_PATH || path === `${MCP_PATH}/`
}
