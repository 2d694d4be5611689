import { useQuery } from '@tanstack/react-query';
import { History } from 'lucide-react';
import { authMe } from '../api/generated';
import { Time } from '../format/time';

/** Notes on every page that the service was restored from a backup and waits for its operator to release it. */
export function RecoveryNote() {
  const { data } = useQuery({
    queryKey: ['recovery-hold'],
    queryFn: async ({ signal }) => (await authMe({ signal })).recoveryHold ?? null,
    staleTime: 5 * 60_000,
    refetchInterval: ({ state }) => (state.data ? 15_000 : false),
  });
  if (!data) return null;
  return (
    <div
      role="note"
      aria-label="Restored from a backup"
      className="flex flex-wrap items-center gap-2 bg-warn-soft px-4 py-1.5 text-warn"
    >
      <History aria-hidden className="size-4" />
      <span className="grow">
        The service was restored from a backup of <Time at={data.savedAt} />. No machine is started or stopped and no
        schedule runs until the service’s operator releases it.
      </span>
    </div>
  );
}
