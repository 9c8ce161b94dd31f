/** The messages between a serving thread and the thread that checks its arguments. Types only. */
import type { ArgumentFault } from './argument-fault.ts'

/** Arguments as JSON: as text they cost the sender a tenth of a structured clone. */
export interface CheckRequest {
  readonly schemaId: number
  readonly args: string
}

/** Sent when the thread asks for it; a thread that was started again knows no schema. As JSON, because a message holds no exact numbers. */
export interface SchemaMessage {
  readonly schema: string
}

/** Compiling and checking have separate limits, so each is reported when it begins. */
export type CheckMessage = 'needs_schema' | 'compiling' | 'compiled' | readonly ArgumentFault[]
