import { configurationKeys } from '../../config/configuration-keys.ts'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'

/** @throws Failure `usage` naming the nearest known key */
export function demandConfigurationKey(key: string): string {
  if (configurationKeys.includes(key)) return key
  const meant = nearest(key, configurationKeys)
  throw new Failure('usage', `There is no configuration key "${key}"`, {
    hint: meant ? `Did you mean ${meant}?` : `Known: ${configurationKeys.join(', ')}`,
  })
}
