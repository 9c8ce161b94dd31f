/** The columns that describe decisions which another policy would make otherwise. It links nowhere: each table adds its own column for that. */
import { number } from '../../components/numbers.ts'
import { Status } from '../../components/text.tsx'

export interface Flip {
  readonly direction: 'allow→deny' | 'deny→allow'
  readonly rule: string
  readonly action: string
  readonly resource: string
  readonly consumer: string
  readonly count: number
}

export const flipColumns = [
  {
    title: 'Change',
    cell: ({ direction, rule }: Flip) => (
      <>
        <Status tone={direction === 'allow→deny' ? 'bad' : 'warn'}>
          {direction === 'allow→deny' ? 'would be denied' : 'would be allowed'}
        </Status>
        <span class="sub">{rule}</span>
      </>
    ),
  },
  {
    title: 'What',
    cell: ({ action, resource }: Flip) => (
      <>
        {resource}
        <span class="sub">{action}</span>
      </>
    ),
  },
  { title: 'Consumer', cell: ({ consumer }: Flip) => consumer },
  { title: 'Decisions', numeric: true, cell: ({ count }: Flip) => number(count) },
]
