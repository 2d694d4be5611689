import { ErrorNote } from '../../ui/error-note';
import { Skeleton } from '../../ui/page';

interface Asked {
  data: unknown;
  error: Error | null;
  refetch: () => unknown;
}

/** Placeholder while the queries of a panel load. If a query failed, its error and a button to try again. */
export function QueryPlaceholder({ queries }: { queries: Asked[] }) {
  const missing = queries.filter(({ data }) => data === undefined);
  if (missing.length === 0) return null;
  const failed = missing.find(({ error }) => error);
  if (!failed) return <Skeleton />;
  return <ErrorNote error={failed.error} retry={() => missing.forEach(({ refetch }) => void refetch())} />;
}
