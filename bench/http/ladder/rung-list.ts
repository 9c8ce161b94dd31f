/** The rungs of the ladder by name, for code that only compares names: it loads nothing of the gateway. */

/**
 * In their order; each has the parts of the one before and one more. `floor` is a whole program, as is `gateway`. A variant beside the main
 * line, such as `invoke` over another kind of connection, is a row directly behind the one it varies: it has the stages of that one.
 */
export const RUNGS = [
  ['floor', 'bare uWS, raw sockets, no check'],
  ['listener', '+ our listener: head checks, bounds, framing'],
  ['envelope', '+ ids, trace, body read as a call, response head'],
  ['invoke', '+ request built, our connections, response parsed, result framed, MCP'],
  ['token', '+ token verified, tool and subscription found'],
  ['quota', '+ five windows and the bucket of the tool'],
  ['decision', '+ policy, arguments, headers, obligations'],
  ['settle', '+ usage, metrics, access log'],
  ['meter', '+ metering event in its file before the response'],
] as const
export type Rung = (typeof RUNGS)[number][0]

/** The built program, with its listener, router and timers. */
export const GATEWAY = ['gateway', '+ the program as it is deployed'] as const
