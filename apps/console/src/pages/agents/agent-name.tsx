import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { isApiError } from '../../api/api-error';
import { type Agent, agentsUpdate } from '../../api/generated';
import { Button } from '../../ui/button';
import { inputClass } from '../../ui/form';
import { useHoldTableRows } from '../../ui/table/held-rows';
import { showToast, showErrorToast } from '../../ui/toast';

/** Inline form that renames an agent. Enter saves; Escape cancels. */
export function AgentName({ agent, done }: { agent: Agent; done: () => void }) {
  const client = useQueryClient();
  const field = useRef<HTMLInputElement>(null);
  useHoldTableRows(true);
  const renaming = useMutation({
    mutationFn: (name: string) => agentsUpdate({ path: { id: agent.id }, body: { name } }),
    onSuccess: async (renamed) => {
      client.setQueryData(['agent', agent.id], renamed);
      await client.invalidateQueries({ queryKey: ['agents'] });
      done();
      showToast(`${agent.name} is now ${renamed.name}.`, () => {
        agentsUpdate({ path: { id: agent.id }, body: { name: agent.name } })
          .then((back) => client.setQueryData(['agent', agent.id], back))
          .catch(showErrorToast)
          .finally(() => void client.invalidateQueries({ queryKey: ['agents'] }));
      });
    },
    onError: () => field.current?.focus(),
  });
  const fault = isApiError(renaming.error) ? (renaming.error.fields[0]?.message ?? renaming.error.message) : undefined;
  return (
    <form
      className="flex items-center gap-1.5"
      onSubmit={(event) => {
        event.preventDefault();
        const name = field.current!.value.trim();
        if (name === agent.name) done();
        else if (!renaming.isPending) renaming.mutate(name);
      }}
      onKeyDown={(event) => event.key === 'Escape' && done()}
    >
      <input
        ref={field}
        aria-label="Name"
        aria-invalid={fault ? true : undefined}
        title={fault}
        defaultValue={agent.name}
        autoFocus
        required
        maxLength={100}
        onFocus={({ target }) => target.select()}
        className={`${inputClass} min-w-0`}
      />
      <Button type="submit" busy={renaming.isPending}>
        Save
      </Button>
      <span role="alert" className={fault ? 'truncate text-xs text-bad' : 'sr-only'}>
        {fault}
      </span>
    </form>
  );
}
