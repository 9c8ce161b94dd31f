/** Closes what a test file opens after each of its tests. Files share their workers, so each file asks for it. It opens nothing. */
import { afterEach } from 'vitest'

interface Closable {
  close(): Promise<void>
}

/** @returns keeps a part until the test is over */
export function keeping(): <T extends Closable>(part: T) => T {
  const opened: Closable[] = []
  afterEach(async () => {
    for (const part of opened.splice(0).reverse()) await part.close()
  })
  return part => {
    opened.push(part)
    return part
  }
}
