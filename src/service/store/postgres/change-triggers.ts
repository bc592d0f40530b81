/** What the triggers call, and what the change feed listens to. */
export const channel = 'chatctl'

/** Changed with the SQL below, so that older triggers are replaced. */
const trigger = 'chatctl_changed_1'

/** What `Store.generation` speaks of. */
const watched = ['settings', 'api_configuration', 'api_keys', 'users']

/** How many triggers of this version the schema has; `allTriggers` when nothing is to be done. */
export const countTriggers = `
select count(*) as n from pg_trigger t
  join pg_class c on c.oid = t.tgrelid
  join pg_namespace s on s.oid = c.relnamespace
where s.nspname = current_schema() and t.tgname in ('${trigger}', '${trigger}_row') and not t.tgisinternal`

export const allTriggers = 2 * watched.length

/**
 * Tells all processes of a change, whoever made it: psql included. That a key was used is not one.
 * May run on top of itself.
 */
export const createTriggers = `
create or replace function chatctl_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('${channel}', tg_table_name);
  return null;
end
$$;
${watched
  .map(
    (table) => `
drop trigger if exists ${trigger} on ${table};
create trigger ${trigger} after insert or delete or truncate on ${table}
  for each statement execute function chatctl_notify();
drop trigger if exists ${trigger}_row on ${table};
create trigger ${trigger}_row after update on ${table} for each row
  when ((to_jsonb(old) - 'last_used_at') is distinct from (to_jsonb(new) - 'last_used_at'))
  execute function chatctl_notify();`,
  )
  .join('')}`
