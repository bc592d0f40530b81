import type { Config } from '@oclif/core/interfaces'
import { Failure } from '../../contract/failure.ts'
import { nearest } from '../../contract/nearest-word.ts'
import { loadColors, wantsColor } from '../output/colors.ts'
import type { Streams } from '../output/streams.ts'
import { findPage } from './find-page.ts'
import { helpTopics } from './page.ts'
import { renderPage } from './render-page.ts'

/** Columns if stdout is not a terminal. */
const defaultWidth = 80
/** Columns that every page fits in. */
const minimumWidth = 40

/**
 * Writes the page of a command, a group, a help topic, or the program to stdout.
 *
 * @returns whether there is such a page
 * @throws Failure `usage` for a misspelled help topic
 */
export async function showHelp(
  words: readonly string[],
  { commands, topics }: Config,
  streams: Streams,
  noColor: boolean,
): Promise<boolean> {
  const page = findPage(words, { commands, topics })
  if (!page) {
    refuseMisspelledTopic(words)
    return false
  }
  const { stdout, env } = streams.host
  const { bold } = await loadColors(wantsColor(stdout, env, noColor))
  await streams.writeData(renderPage(page, { width: widthOf(streams), bold }))
  return true
}

function refuseMisspelledTopic(words: readonly string[]): void {
  const [word = '', ...others] = words
  const names = helpTopics.map(({ name }) => name)
  const topic = others.length === 0 ? nearest(word, names) : undefined
  if (topic === undefined) return
  throw new Failure('usage', `Unknown command or help topic: ${word}`, {
    hint: `Did you mean: chatctl help ${topic}`,
  })
}

function widthOf({ host: { stdout, env }, isShown }: Streams): number {
  const requested = Number.parseInt(env['OCLIF_COLUMNS'] ?? '', 10)
  if (requested) return requested
  if (!isShown || stdout.columns < 1) return defaultWidth
  return Math.max(minimumWidth, stdout.columns)
}
