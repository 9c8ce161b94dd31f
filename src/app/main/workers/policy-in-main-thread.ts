/** Both ends of the port between worker threads and the owner of the policy bundles. */

import type { PortLine } from '../../../base/threads/port-line.ts'
import type { Joined, Member } from '../../../policy/live/distribution.ts'
import type { BundleChange } from '../../../policy/live/follower.ts'
import type { PolicyOwner, ServedPolicyOwner } from '../policy-served.ts'

/** In the owner's thread: lets the thread at the other end join, and removes it when it ends. */
export function servePolicy(line: PortLine, owner: ServedPolicyOwner): void {
  // a thread that has ended is ignored: its replacement starts with the active bundles
  const unlessEnded = async (asked: Promise<unknown>): Promise<void> => {
    try {
      await asked
    } catch (error) {
      if (!line.closed) throw error
    }
  }
  const member: Member = {
    prepare: change => unlessEnded(line.ask('policy.prepare', change)),
    activate: () => unlessEnded(line.ask('policy.activate')),
    discard: () => line.notify('policy.discard'),
    recent: () => line.ask('policy.recent'),
    shadow: () => line.ask('policy.shadow'),
  }
  line.serve({
    async 'policy.join'() {
      const joined = await owner.join(member)
      if (line.closed) owner.leave(member)
      return joined
    },
    'policy.status': () => owner.status(),
    'policy.promote': () => owner.promote(),
  })
  line.onClose(() => owner.leave(member))
}

/** In a thread that serves calls. @param shared counts the changes that are active in the process */
export function policyInMainThread(line: PortLine, shared: SharedArrayBuffer): PolicyOwner {
  const epoch = new Int32Array(shared)
  let seen = 0
  let member: Member | undefined
  function sync(): void {
    const active = Atomics.load(epoch, 0)
    if (active === seen || member === undefined) return
    seen = active
    void member.activate()
  }
  return {
    sync,
    async join(joining) {
      line.serve({
        'policy.prepare': (change: BundleChange) => joining.prepare(change),
        'policy.activate': sync,
        'policy.discard': () => joining.discard(),
        'policy.recent': () => joining.recent(),
        'policy.shadow': () => joining.shadow(),
      })
      const joined = await line.ask<Joined>('policy.join')
      seen = joined.epoch
      member = joining
      return joined
    },
    status: () => line.ask('policy.status'),
    promote: () => line.ask('policy.promote'),
  }
}
