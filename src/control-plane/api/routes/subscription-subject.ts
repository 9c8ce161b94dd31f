/** The `Subject` of a policy question about a subscription, as the caller relates to the subscription. It does not ask the policy. */
import { applicationOf, type Subscription } from '../../../model/subscription.ts'
import type { Subject, SubjectQuestion } from '../http/endpoint.ts'

/** One of another tenant belongs to that tenant: its members may read, change and end it, and the owner of the API may decide about it. */
export function subjectOfSubscription(
  subscription: Subscription | undefined,
  { principal, guest }: Pick<SubjectQuestion, 'principal' | 'guest'>,
): Subject {
  if (subscription === undefined) return { own: false }
  const { application, subscriberTenantId } = subscription
  if (guest === undefined) return { own: subscriberTenantId === null && application === principal.consumer }
  if (subscriberTenantId !== guest.id) return { own: false }
  return { tenant: guest.name, own: application === applicationOf(guest.name, principal.consumer) }
}
