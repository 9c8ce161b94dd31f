/** The second migration: the table of marks on the sessions of console and portal. */
import { guard, SCOPE } from './row-security.ts'

export const statements: readonly string[] = [
  `create table session_marks (mark text collate "C" primary key, until timestamptz not null)`,
  `create index session_marks_age on session_marks (until)`,
  ...guard('session_marks', `(${SCOPE} = '*')`),
]
