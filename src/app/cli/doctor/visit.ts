/** The types of a step, of its outcome and of the state that the steps of a client share. */
import type { ClientProfile } from './clients.ts'

/** The fields of RFC 8414 §2 that clients read. */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string
}

export interface Registered {
  readonly clientId: string
  /** RFC 7592: deletes the registration; undefined when the server returned no handle. */
  readonly handle: { readonly uri: string; readonly token: string } | undefined
}

export interface ListedTool {
  readonly name: string
}

export interface Visit {
  /** The MCP endpoint. */
  readonly url: string
  readonly client: ClientProfile
  /** Name the user gives the server in the client. */
  readonly serverName: string
  /** Access token given by the user. */
  readonly token: string | undefined
  /** False once the server has served a list without a token. */
  guarded: boolean
  resourceMetadataUrl: string | undefined
  /** Scopes of the challenge, else those the resource lists. */
  scope: string
  issuer: string
  server: AuthorizationServer | undefined
  registered: Registered | undefined
  sessionId: string | undefined
  protocolVersion: string | undefined
  tools: readonly ListedTool[]
  /** Size of the listed tools as JSON. */
  definitionBytes: number
}

/** The result of a step that passed. */
export interface Finding {
  readonly facts: readonly string[]
  /** What works but should be changed. */
  readonly warnings?: readonly string[]
}

export type StepOutcome = Finding | { readonly skipped: string }

export interface Step {
  readonly id: string
  /** Only a client that logs in takes it, not one that is given a token. */
  readonly login?: true
  /** @throws Fault when the client would fail here */
  run(visit: Visit): Promise<StepOutcome>
}
