/** The ordered list of migrations. Do not edit a released migration: append a new one. */
import { statements as apiDefinitions } from './api-definitions.ts'
import { statements as initial } from './initial.ts'
import { statements as sessionMarks } from './session-marks.ts'
import { statements as slowReceivers } from './slow-receivers.ts'

export interface Migration {
  readonly name: string
  /** Run one by one, all migrations of a run in one transaction. */
  readonly statements: readonly string[]
}

export const MIGRATIONS: readonly Migration[] = [
  { name: '0001-initial', statements: initial },
  { name: '0002-session-marks', statements: sessionMarks },
  { name: '0003-api-definitions', statements: apiDefinitions },
  { name: '0004-slow-receivers', statements: slowReceivers },
]
