/** Makes `notifications/progress` from the progress of a call, where the client asked for them. It does not check that progress increases. */
import { ExactNumber, writeJson } from '../../../base/json/exact-number.ts'
import type { OnProgress } from '../../pipeline/transport.ts'
import type { RpcRequest } from './message.ts'
import { metaOf } from './modern.ts'

/** undefined when the client did not request progress or cannot receive messages before the reply. */
export function progressSink(
  request: RpcRequest,
  send: ((json: string) => void) | undefined,
): OnProgress | undefined {
  const progressToken = metaOf(request)?.progressToken
  if (send === undefined) return undefined
  const usable =
    typeof progressToken === 'string' ||
    typeof progressToken === 'number' ||
    progressToken instanceof ExactNumber
  if (!usable) return undefined
  return (progress, total, message) => {
    send(
      writeJson({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: {
          progressToken,
          progress,
          // JSON leaves out what is undefined
          total,
          message,
        },
      }),
    )
  }
}
