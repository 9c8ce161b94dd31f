/** Finds the page on which users connect accounts at backends. The client works without it: what is wrong is a warning. */
import { isLoopback } from '../../../../base/loopback.ts'
import { ask, describeResponse, objectOf } from '../ask.ts'
import { Fault } from '../fault.ts'
import type { Step } from '../visit.ts'

export const pages: Step = {
  id: 'pages',
  async run({ url }) {
    const page = await ask(url.replace(/\/mcp(?:\/[^/?]*)?\/?(?:\?.*)?$/, '/connections/'))
    const message = objectOf(page)?.message
    if (page.status === 404 && String(message).includes('PAGES_URL'))
      return { facts: ['Users cannot connect accounts at backends.'], warnings: [String(message)] }
    const location = page.headers.get('location')
    if (page.status !== 303 || location === null)
      return { skipped: 'The server has no page on which users connect accounts at backends.' }
    const shown = await show(location)
    return {
      facts: [`Users connect accounts at backends at ${location}`],
      warnings: shown === undefined ? [] : [`${shown} ${FIX}`],
    }
  },
}

const FIX =
  'The host name of PAGES_URL must lead to the gateway, and the proxy must pass this name in the header Host.'

/** @returns what is wrong with the page */
async function show(location: string): Promise<string | undefined> {
  // browsers find such a name without DNS, and other programs may not
  if (isLoopback(new URL(location).hostname)) return undefined
  try {
    const page = await ask(location)
    return page.status === 200 ? undefined : `${describeResponse(page)}.`
  } catch (error) {
    if (error instanceof Fault) return error.found
    throw error
  }
}
