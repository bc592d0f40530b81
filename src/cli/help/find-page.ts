import { commandPage, topicPage } from './command-page.ts'
import type { Declarations } from './declared-command.ts'
import { type HelpPage, helpTopics } from './page.ts'
import { rootPage } from './root-page.ts'
import { helpTopicPage } from './topic-pages.ts'

/**
 * @param words `settings get`, or what follows `help`; arguments of a command are ignored
 * @returns undefined if there is no such command, group, or help topic
 */
export function findPage(words: readonly string[], declarations: Declarations): HelpPage | undefined {
  const [first] = words
  const isRoot = first === undefined || (first === 'help' && words.length === 1)
  if (isRoot) return rootPage(declarations)
  const topic = words.length === 1 ? helpTopics.find(({ name }) => name === first) : undefined
  if (topic) return helpTopicPage(topic.name, declarations)
  const { commands } = declarations
  for (let length = words.length; length > 0; length--) {
    const id = words.slice(0, length).join(':')
    const command = commands.find((one) => one.id === id)
    const isWhole = length === words.length
    const isGroup = commands.some((one) => one.id.startsWith(`${id}:`))
    // A single word after the name of a group is a mistyped command.
    const takesRest =
      command && Object.keys(command.args).length > 0 && !(isGroup && !/\s/.test(words[length] ?? ''))
    if (command && (isWhole || takesRest)) return commandPage(command, declarations)
    if (isWhole && isGroup) return topicPage(id, declarations)
  }
  return undefined
}
