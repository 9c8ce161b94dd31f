/** The result of a simulated call: outcome, stages, and the request that the backend would receive. */
import type { Simulation } from '../api/admin-types.ts'
import { Facts, Status, type Tone } from './text.tsx'

const TONES: Readonly<Record<Simulation['stages'][number]['result'], Tone>> = {
  passed: 'good',
  refused: 'bad',
  not_simulated: 'info',
  not_reached: 'plain',
}

export function SimulationCard({
  of: { allowed, outcome, status, message, stages, caller, request },
}: {
  readonly of: Simulation
}) {
  return (
    <div class="card" role="status">
      <Facts
        rows={[
          [
            'Outcome',
            <Status tone={allowed ? 'good' : 'bad'}>{`${outcome.replaceAll('_', ' ')} (${status})`}</Status>,
          ],
          ['Caller', `${caller.consumer}${caller.tenant === null ? '' : ` of ${caller.tenant}`}`],
          ['Scopes', caller.scopes.join(', ') || 'none'],
          ['Roles', caller.roles.join(', ') || 'none'],
        ]}
      />
      {message !== null && !allowed && <p class="notice warn">{message}</p>}
      {request !== null && (
        <p>
          The backend would receive <code>{`${request.method} ${request.url}`}</code>
        </p>
      )}
      <ol class="steps">
        {stages.map(({ stage, result }) => (
          <li key={stage}>
            {stage} <Status tone={TONES[result]}>{result.replaceAll('_', ' ')}</Status>
          </li>
        ))}
      </ol>
    </div>
  )
}
