/** Opens the export of traces if it is configured, and chooses calls whose stages are timed. */

import { VERSION } from '../../base/version.ts'
import type { Exchange } from '../../data-plane/pipeline/exchange.ts'
import type { Stage } from '../../data-plane/pipeline/stage.ts'
import { isRecorded } from '../../data-plane/stages/6-settle/record-metrics.ts'
import { traceCall } from '../../data-plane/stages/6-settle/trace-call.ts'
import { clientAddresses } from '../../net/server/client-address.ts'
import type { AppContext } from './app-context.ts'

export interface Traces {
  /** undefined: no spans are created. */
  readonly stage: Stage | undefined
  /** Whether the stages of a call are timed: recorded calls, and the sample for metrics and logs. */
  readonly measured: (exchange: Exchange) => boolean
}

/** @param gatewayUrl where callers reach the gateway */
export async function openTraces({ settings, closers }: AppContext, gatewayUrl: string): Promise<Traces> {
  const { traces, stageTimingSample } = settings.telemetry
  const isSampled = (): boolean => stageTimingSample > 0 && Math.random() < stageTimingSample
  if (!traces) return { stage: undefined, measured: isSampled }
  const { createOtlpTraces } = await import('../../telemetry/otlp-traces.ts')
  const exporter = createOtlpTraces({ version: VERSION, instance: settings.gatewayName })
  closers.add('traces', () => exporter.close())
  const { protocol, hostname, port } = new URL(gatewayUrl)
  const scheme = protocol === 'https:' ? 'https' : 'http'
  const server = { scheme, address: hostname, port: Number(port || (scheme === 'https' ? 443 : 80)) } as const
  const stage = traceCall(exporter, server, clientAddresses(settings.sse.trustedProxies))
  return { stage, measured: exchange => isRecorded(exchange) || isSampled() }
}
