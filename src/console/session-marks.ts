/** The interface of a store for marks on sessions, and the marks: a session has ended before its time, or its token is being renewed. */
import type { Session } from './session.ts'

export interface SessionMarks {
  /** Puts a mark, for all threads and instances. @returns whether there was none. @throws Error when the store is unavailable or full */
  put(mark: string, untilMs: number): Promise<boolean>
  /** @throws Error when the store is unavailable */
  has(mark: string): Promise<boolean>
}

/** The store does not say which sessions have ended, so none is accepted. */
export class SessionsUnavailable extends Error {
  constructor(cause: unknown) {
    super(
      `the store of sessions that have ended is unavailable: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  }
}

export const endMark = ({ id }: Pick<Session, 'id'>): string => `ended:${id}`

/** Belongs to one token of the session. */
export const renewalMark = ({ id, renewedAtMs }: Session): string => `renewal:${id}:${renewedAtMs}`

/** @throws SessionsUnavailable in place of every error */
export function checkedMarks(marks: SessionMarks): SessionMarks {
  const checked = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw new SessionsUnavailable(error)
    })
  return {
    put: (mark, untilMs) => checked(marks.put(mark, untilMs)),
    has: mark => checked(marks.has(mark)),
  }
}
