import { Refusal } from '../refusal.ts'
import type { SettingsInForce } from '../settings.ts'

/** Reading models and history stays possible: only the model is not asked. @throws Refusal `feature_disabled` */
export function requireChat({ features }: SettingsInForce): void {
  if (features.chat) return
  throw new Refusal(
    'feature_disabled',
    'Chat is turned off in the settings of this service (features.chat)',
    {
      details: { feature: 'chat' },
    },
  )
}

/** How many tokens a completion may generate: what was asked for, and never more than the settings allow. */
export const capTokens = ({ limits }: SettingsInForce, wanted: number | undefined): number =>
  Math.min(wanted ?? limits.max_tokens, limits.max_tokens)
