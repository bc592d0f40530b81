import type { Context } from '../../cli/context/context.ts'
import { truncateToWidth } from '../../terminal/editor/graphemes.ts'
import { stripControls } from '../../terminal/strip-controls.ts'
import { countOf } from '../../view/format/count.ts'
import { localTime } from '../../view/format/local-time.ts'

interface ListedSession {
  path: string
  updatedAt: string
  turns: number
  name?: string
  firstMessage?: string
}

/** Cells that the prompt needs beside a choice. */
const margin = 4

/**
 * Lets the person choose a session by its time, name, or first message.
 *
 * @param sessions the last used first
 * @returns the path of its transcript
 * @throws Interruption if the person leaves
 */
export async function pickSession(
  sessions: readonly ListedSession[],
  { prompter, streams }: Pick<Context, 'prompter' | 'streams'>,
): Promise<string> {
  const known = sessions.map((session) => {
    const { path, name, firstMessage, turns, updatedAt } = session
    const title = stripControls([name, firstMessage].filter(Boolean).join(': ').slice(0, 1_000))
    // Without the year, because a narrow terminal has little room.
    const time = (localTime(updatedAt) ?? '').slice('2026-'.length).padEnd('11-21 14:22'.length)
    const label = `${time}  ${title.replaceAll(/\s+/g, ' ').trim()}`
    return { path, label, turns: countOf(turns, 'turn') }
  })
  const find = (words: readonly string[]) => {
    const room = (streams.host.stderr.columns || 80) - margin
    const found = known.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
    return found.map(({ path, label, turns }) => ({
      name: `${truncateToWidth(label, room - turns.length - 2).text}  ${turns}`,
      value: path,
    }))
  }
  return prompter.pick('Session to resume:', find, 'chatctl chat sessions')
}
