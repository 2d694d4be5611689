import { ErrorNote } from '../../ui/error-note';
import { Skeleton } from '../../ui/page';

interface Asked {
  data: unknown;
  error: Error | null;
  refetch: () => unknown;
}

/** Placeholder while a panel's queries load, or the error of one that failed, with a button to retry. */
export function QueryPlaceholder({ queries }: { queries: Asked[] }) {
  const missing = queries.filter(({ data }) => data === undefined);
  if (missing.length === 0) return null;
  const failed = missing.find(({ error }) => error);
  if (!failed) return <Skeleton />;
  return <ErrorNote error={failed.error} retry={() => missing.forEach(({ refetch }) => void refetch())} />;
}
