import * as Flags from '@oclif/core/flags'
import { textFlag } from './flag-types.ts'

/** One layer of a settings file over those before it. */
export const settingsFileFlag = () =>
  textFlag({
    char: 'f',
    helpValue: '<file>',
    multiple: true,
    multipleNonGreedy: true,
    summary: 'Settings file over those before it; repeatable.',
  })

export const expandEnvFlag = Flags.boolean({
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is meant as it stands
  summary: 'Replace ${NAME} in texts by what the environment has.',
})
