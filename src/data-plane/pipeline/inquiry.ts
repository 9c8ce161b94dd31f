/** Questions a call puts to its client before it is made, and the client's side of them. How they travel is the gateway's business. */
import type { Principal } from '../../model/principal.ts'

/** What a server may ask of a client (MCP up to 2025-11-25 as requests, from 2026-07-28 on as `inputRequests`), and the capability it needs. */
export const CAPABILITY_OF = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const

export type QuestionMethod = keyof typeof CAPABILITY_OF
export type ClientCapability = (typeof CAPABILITY_OF)[QuestionMethod]

/** One question, in the words of MCP. */
export interface Question {
  readonly method: QuestionMethod
  readonly params: { readonly [name: string]: unknown }
}

export type Questions = { readonly [name: string]: Question }

/** Results of the questions (MCP: ElicitResult, CreateMessageResult, ListRootsResult), by name. They are the client's word and nothing more. */
export type ClientAnswers = { readonly [name: string]: unknown }

/** What is asked about one call. */
export interface Inquiry {
  readonly tool: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly principal: Principal
  readonly questions: Questions
  /** Answers count only if exactly this call was asked before: its caller, tool and arguments. */
  readonly bound: boolean
}

/** `pending`: the questions have to travel first; the call is repeated with the answers. */
export type InquiryOutcome = ClientAnswers | 'declined' | 'pending'

/** The client of a call, as far as it can be asked. */
export interface ClientSide {
  readonly capabilities: ReadonlySet<string>
  ask(inquiry: Inquiry): InquiryOutcome | Promise<InquiryOutcome>
}

/** Capabilities the questions need and the client has not declared; all of them when there is nobody to ask. */
export function lackingCapabilities(
  client: ClientSide | undefined,
  questions: Questions,
): readonly ClientCapability[] {
  const needed = new Set(Object.values(questions).map(question => CAPABILITY_OF[question.method]))
  return [...needed].filter(capability => client?.capabilities.has(capability) !== true)
}
