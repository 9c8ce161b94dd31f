/** Questions to the client of a call, the capabilities they need, their results, and the interface of the client. */
import type { Principal } from '../../model/principal.ts'

/** What a server may ask of a client (MCP up to 2025-11-25 as requests, from 2026-07-28 on as `inputRequests`), and the capability it needs. */
export const CAPABILITY_OF = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const

type QuestionMethod = keyof typeof CAPABILITY_OF
type ClientCapability = (typeof CAPABILITY_OF)[QuestionMethod]

/** One question, in the words of MCP. */
export interface Question {
  readonly method: QuestionMethod
  readonly params: { readonly [name: string]: unknown }
}

export type Questions = { readonly [name: string]: Question }

/** Results of the questions by name (MCP: ElicitResult, CreateMessageResult, ListRootsResult). They are not verified. */
export type ClientAnswers = { readonly [name: string]: unknown }

/** What is asked about one call. */
export interface Inquiry {
  readonly tool: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly principal: Principal
  readonly questions: Questions
  /**
   * Whose questions they are, where another part chose their names, which may equal those of the gateway and of the policy. Absent: the
   * gateway's or the policy's, which have no name in common.
   */
  readonly asker?: 'server' | 'connect'
  /** Results count only if the questions were put for exactly this caller, tool and arguments. */
  readonly bound: boolean
}

/** Rounds of questions about one call: the policy, or the MCP server, could ask without end. */
export const MAX_ROUNDS = 8

/** `pending`: the response carries the questions; the client repeats the call with their results. */
export type InquiryOutcome = ClientAnswers | 'declined' | 'pending'

/** The client of a call, as far as it can be asked. */
export interface ClientSide {
  /** Names as in MCP; `elicitation.url`: the client shows addresses to its user. */
  readonly capabilities: ReadonlySet<string>
  /** True: `ask` waits for the results. False: the client repeats the call with them. */
  readonly respondsDuringCall: boolean
  ask(inquiry: Inquiry): InquiryOutcome | Promise<InquiryOutcome>
}

/** Capabilities that the questions need and the client has not declared; all of them when the client cannot be asked. */
export function lackingCapabilities(
  client: ClientSide | undefined,
  questions: Questions,
): readonly ClientCapability[] {
  const needed = new Set(Object.values(questions).map(question => CAPABILITY_OF[question.method]))
  return [...needed].filter(capability => client?.capabilities.has(capability) !== true)
}
