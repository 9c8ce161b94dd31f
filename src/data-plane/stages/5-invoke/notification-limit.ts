/** Limits the notifications that a call causes in a short time. */

const MAX_NOTIFICATIONS = 100
const PER_MS = 100

export class NotificationLimit {
  #sinceMs = 0
  #admitted = 0

  /** False for a notification to leave out. */
  admit(): boolean {
    const nowMs = performance.now()
    if (nowMs - this.#sinceMs >= PER_MS) {
      this.#sinceMs = nowMs
      this.#admitted = 0
    }
    return ++this.#admitted <= MAX_NOTIFICATIONS
  }
}
