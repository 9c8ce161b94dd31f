/** The interface through which stages use the transport of a call. */

import type { Principal } from '../../model/principal.ts'
import type { EgressStreamResponse } from '../../net/egress/egress.ts'
import type { UpstreamRequest } from '../../net/egress/upstreams.ts'
import type { ClientSide } from './inquiry.ts'
import type { TaskSide } from './task-side.ts'

/** What the stage that sends a proxied call has of its transport. */
export interface ProxiedCall<Call> {
  /** The request to the upstream; its body is read once. */
  request(call: Call): UpstreamRequest
  /** For the request of the caller; '' when absent. */
  header(name: string): string
  /** Whether the body of the request was longer than the API accepts. */
  readonly isTooLarge: boolean
  /** Sends the response back as a stream, except its end, which follows the settle stages. @returns undefined: it is done */
  respond(call: Call, response: EgressStreamResponse): Promise<void> | undefined
}

/** Every part is absent where the transport, or the request, does not offer it. `Call` is the exchange. */
export interface Transport<Call> {
  /** Binds the session of the request to the principal; false when the session belongs to another. */
  readonly claimSession?: (principal: Principal) => boolean | Promise<boolean>
  /** The MCP session of the request, where it has one. */
  readonly session?:
    | {
        readonly id: string
        /** Calls the listener once, when the session ends. @returns stops listening */
        onEnd(listener: () => void): () => void
      }
    | undefined
  /** For a proxied call. */
  readonly proxied?: ProxiedCall<Call>
  /** The client, where it can be asked. */
  readonly client?: ClientSide | undefined
  /** Absent where the protocol of the request has no tasks. */
  readonly task?: TaskSide | undefined
  /** Modern MCP: the decoded value of an `Mcp-Param-…` header; undefined when absent, null when it cannot be decoded. */
  readonly mirrored?: (name: string) => string | undefined | null
  /** Receives progress of a streaming backend; absent when the caller did not ask for progress. */
  readonly onProgress?: OnProgress | undefined
  /** Receives log messages of an MCP server; absent when the caller cannot receive them. */
  readonly onLog?: OnLog | undefined
  /** Level that the caller asked for. */
  readonly logLevel?: string | undefined
}

/** @param params of `notifications/message` (MCP, logging) */
export type OnLog = (params: { readonly [name: string]: unknown }) => void

export type OnProgress = (progress: number, total: number | undefined, message: string | undefined) => void

/** For calls whose transport offers none of these. */
export const NO_TRANSPORT: Transport<unknown> = {}
