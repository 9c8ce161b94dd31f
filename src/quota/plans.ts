/** TEMP */
import type { Plan } from '../model/plan.ts'
export function readPlans(_file: string): { plans: Plan[]; consumers: Record<string, string> } {
  return { plans: [{ slug: 'community', name: 'C', perSecond: 5, perMinute: 60, perDay: 10000, perMonth: 100000 }, { slug: 'enterprise', name: 'E' }], consumers: { 'demo-agent': 'community', 'demo-viewer': 'community', 'demo-admin': 'enterprise' } }
}
