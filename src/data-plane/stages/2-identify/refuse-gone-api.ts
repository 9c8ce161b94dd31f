/** Refuses calls of APIs whose end date has come, where their owner chose so. */
import { refuse } from '../../../model/refusal.ts'
import type { Stage } from '../../pipeline/stage.ts'

export function refuseGoneApi(): Stage {
  return {
    id: 'refuse-gone-api',
    phase: 'identify',
    run({ operation, snapshot, tool, receivedAtMs }) {
      const apiId = tool?.tool.apiId
      const api =
        operation.action === 'proxy' ? operation.api : apiId === undefined ? undefined : snapshot.apiOf(apiId)
      if (api?.goneAtMs === undefined || api.goneAtMs > receivedAtMs) return undefined
      const date = new Date(api.goneAtMs).toISOString().slice(0, 10)
      const link = api.deprecationLink === undefined ? '' : ` See ${api.deprecationLink}.`
      return refuse('api_gone', {
        message: `This API was shut down on ${date}. Call another version of the API.${link}`,
      })
    },
  }
}
