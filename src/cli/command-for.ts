import type { Context } from './create-context.ts'
import { quoteWord } from './quote-word.ts'

/** A command line to be pasted into a shell, for the same service where this one has named it. */
export function commandFor({ options }: Context, ...words: readonly string[]): string {
  const { profile, base_url: baseUrl } = options
  const named = [
    ...(profile.source === 'flag' && profile.value ? ['--profile', profile.value] : []),
    ...(baseUrl.source === 'flag' && baseUrl.value ? ['--base-url', baseUrl.value] : []),
  ]
  return ['chatctl', ...words, ...named].map(quoteWord).join(' ')
}
