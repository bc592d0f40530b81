import { agreeInBrowser } from '../../docs/agree-in-browser.ts'

/** The program that BROWSER names: `node browser-program.ts EMAIL PASSWORD URL`. */
const [email = '', password = '', url = ''] = process.argv.slice(2)
await agreeInBrowser(email, password, url)
