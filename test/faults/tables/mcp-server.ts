/** Rows of an MCP server that is the source of tools. Its tools stay listed, the gateway stays healthy: only calls of this server fail. */
import { everyFault, type Table } from '../matrix.ts'

export const MCP_SERVER: Table = {
  dependency: 'MCP server',
  expected: everyFault(
    // 503: the circuit of the server is open; 200: a call before the fault, or over a connection that it has spared
    { calls: [200, 502, 503, 504], state: 'fine' },
    { slow: { calls: [200] }, 'reset while idle': { calls: [200, 502] } },
  ),
  never: [
    { moment: ['transaction'], reason: 'a call is one request: there is no transaction with an MCP server' },
    {
      fault: ['reset while idle'],
      moment: ['draining'],
      reason: 'the process drains with a call of this server in flight: this is "reset in flight"',
    },
  ],
  short: ['reset in flight @ load', 'garbage @ load', 'hang @ subscribing', 'refuse @ start'],
}
