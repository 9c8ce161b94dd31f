/**
 * An example for STAGES: outside working hours (UTC), only callers with the role `on-call` call tools that delete. Copy it and change it:
 *   STAGES=./refuse-deletion.mjs npx toolgate serve
 * @type {import('toolgate/stage').StageModule}
 */
const stages = ({ refuse }) => [
  {
    id: 'refuse-deletion',
    phase: 'decide',
    // before the arguments are validated: a caller learns nothing about a tool that it may not call
    after: 'authorize',
    budgetMs: 5,
    run({ operation, principal, receivedAtMs }) {
      if (operation.action !== 'tools.call' || !/delete|remove/i.test(operation.tool)) return undefined
      if (principal?.roles.includes('on-call')) return undefined
      const hour = new Date(receivedAtMs).getUTCHours()
      const [from, to] = (process.env.DELETION_HOURS ?? '8-18').split('-').map(Number)
      if (hour >= from && hour < to) return undefined
      return refuse('policy_denied', { message: 'Deleting is allowed in working hours only.' })
    },
  },
]

export default stages
