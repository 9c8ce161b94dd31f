/** Asks the client the questions of an MCP server, or to connect an account, and finds the capabilities that a server may use for that. */
import { isObject } from '../../../base/json/is-object.ts'
import type { OnServerRequest } from '../../../mcp/protocol.ts'
import type { TokenFault } from '../../../net/egress/oauth/token-endpoint.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import {
  CAPABILITY_OF,
  type Inquiry,
  type InquiryOutcome,
  lackingCapabilities,
  type Question,
  type Questions,
} from '../../pipeline/inquiry.ts'
import { isCall } from '../../pipeline/operation.ts'
import { isQuestion } from '../shared/questions.ts'
import { redactedPaths } from './redact-result.ts'

type Dict = { readonly [name: string]: unknown }

/** For one call. */
const MAX_QUESTIONS = 16
const NAME = /^(?!__proto__$)[A-Za-z0-9_.-]{1,64}$/
/** The name of the question in an inquiry about one. */
const ONLY = 'question'
/** As `ClientSide` names it. */
const URL_MODE = 'elicitation.url'

/** Capabilities that the gateway may declare to a server for this call; undefined: the server must not ask. */
export function declaredCapabilities(exchange: Exchange): Dict | undefined {
  const { client } = exchange.transport
  // a question could contain what the policy redacts
  if (client === undefined || redactedPaths(exchange) !== undefined) return undefined
  const declared = Object.values(CAPABILITY_OF).filter(name => client.capabilities.has(name))
  return declared.length === 0 ? undefined : Object.fromEntries(declared.map(name => [name, {}]))
}

/** For servers up to 2025-11-25, which wait for the result; undefined: the client cannot respond during the call. */
export function questionHandler(exchange: Exchange): OnServerRequest | undefined {
  if (exchange.transport.client?.respondsDuringCall !== true || declaredCapabilities(exchange) === undefined)
    return undefined
  let asked = 0
  return async (method, params) => {
    const question = { method, params }
    if (!isQuestion(question) || ++asked > MAX_QUESTIONS) return undefined
    const outcome = await ask(exchange, { [ONLY]: question })
    if (outcome === undefined || outcome === 'pending') return undefined
    if (outcome === 'declined') return method === 'elicitation/create' ? { action: 'decline' } : undefined
    return outcome[ONLY] as Dict
  }
}

/** `inputRequests` of a server of 2026-07-28, which may have none. @returns undefined when they are not valid, or the client cannot be asked */
export function askInputs(
  exchange: Exchange,
  inputRequests: unknown,
): InquiryOutcome | Promise<InquiryOutcome> | undefined {
  if (inputRequests === undefined) return {}
  const entries = isObject(inputRequests) ? Object.entries(inputRequests) : []
  if (entries.length === 0 || entries.length > MAX_QUESTIONS) return undefined
  if (!entries.every(([name, question]) => NAME.test(name) && isQuestion(question))) return undefined
  return ask(exchange, Object.fromEntries(entries) as Questions)
}

/** Shows the address to the user, where the client can (elicitation in URL mode); undefined where it cannot. */
export function askToConnect(
  exchange: Exchange,
  { connectUrl, message }: TokenFault,
): InquiryOutcome | Promise<InquiryOutcome> | undefined {
  if (connectUrl === undefined || exchange.transport.client?.capabilities.has(URL_MODE) !== true)
    return undefined
  const params = { mode: 'url', url: connectUrl, elicitationId: connectUrl, message }
  return ask(exchange, { connect: { method: 'elicitation/create', params } }, 'connect')
}

function ask(
  exchange: Exchange,
  questions: Questions,
  asker: NonNullable<Inquiry['asker']> = 'server',
): InquiryOutcome | Promise<InquiryOutcome> | undefined {
  const { operation, transport, tool, principal } = exchange
  if (!isCall(operation) || declaredCapabilities(exchange) === undefined) return undefined
  if (lackingCapabilities(transport.client, questions).length > 0) return undefined
  const signed = Object.entries(questions).map(
    ([name, one]) => [name, nameToolSet(one, tool!.tool.toolSet)] as const,
  )
  return transport.client!.ask({
    tool: operation.tool,
    arguments: operation.arguments,
    principal: principal!,
    questions: Object.fromEntries(signed),
    asker,
    bound: false,
  })
}

/** The user knows the gateway only: the text says which tool set asks. */
function nameToolSet({ method, params }: Question, toolSet: string): Question {
  if (method !== 'elicitation/create' || typeof params.message !== 'string') return { method, params }
  return { method, params: { ...params, message: `${toolSet}: ${params.message}` } }
}
