import { auditView } from '../../view/audit.ts'
import { authStatusView, loginView, logoutView, signInsView, tokenView } from '../../view/auth.ts'
import { completionView, historyView, modelsView, sendView } from '../../view/chat.ts'
import { checksView, configListView, configValueView, pathView } from '../../view/config.ts'
import { importView } from '../../view/import.ts'
import {
  accountView,
  backupView,
  keyView,
  newKeyView,
  restoredView,
  serviceStatusView,
  serviceUrlView,
  sessionView,
} from '../../view/service.ts'
import { sessionsView } from '../../view/session.ts'
import { apiConfigurationView, preferencesView, settingsView } from '../../view/settings.ts'
import { appliedView } from '../../view/settings-plan.ts'
import { newUserView, permissionsView, profileView, userSettingsView, userView } from '../../view/users.ts'
import type { View } from '../../view/view.ts'

/** What each command shows. Those without documented fields are not here. */
const views: Readonly<Record<string, View>> = {
  'auth:list': signInsView,
  'auth:login': loginView,
  'auth:logout': logoutView,
  'auth:status': authStatusView,
  'auth:token': tokenView,
  'auth:use': configValueView,
  'chat:complete': completionView,
  'chat:models': modelsView,
  'chat:send': sendView,
  'chat:sessions': sessionsView,
  'config:list': configListView,
  'config:path': pathView,
  'config:set': configValueView,
  'config:unset': configValueView,
  doctor: checksView,
  'history:list': historyView,
  'service:admin:create': accountView,
  'service:audit': auditView,
  'service:backup': backupView,
  'service:keys:create': newKeyView,
  'service:keys:list': keyView,
  'service:keys:revoke': keyView,
  'service:keys:update': keyView,
  'service:restore': restoredView,
  'service:run': serviceUrlView,
  'service:sessions:list': sessionView,
  'service:users:list': accountView,
  'service:sessions:revoke': sessionView,
  'service:status': serviceStatusView,
  'service:users:reset': accountView,
  'settings:api:set': apiConfigurationView,
  'settings:apply': appliedView,
  'settings:diff': appliedView,
  'settings:edit': appliedView,
  'settings:export': settingsView,
  'settings:get': settingsView,
  'settings:preferences': preferencesView,
  'settings:set': settingsView,
  'users:create': newUserView,
  'users:get': userView,
  'users:import': importView,
  'users:permissions:assign': permissionsView,
  'users:profile': profileView,
  'users:settings:set': userSettingsView,
  'users:update': userView,
}

/** What `--fields` of a command may name. */
export function fieldsOf(id: string): string[] {
  return views[id]?.columns.map(({ path }) => path) ?? []
}
