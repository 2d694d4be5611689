import { useQuery } from '@tanstack/react-query';
import { costsCosts } from '../../api/generated';
import { usePermission } from '../../api/session';
import { formatMoney } from '../../format/format';

/** Cost of an agent's runs in the last 30 days. All rows share one request. */
export function AgentCost({ id }: { id: string }) {
  const { data } = useQuery({
    enabled: usePermission('costs.read'),
    queryKey: ['costs', 'by agent'],
    queryFn: ({ signal }) => costsCosts({ query: { groupBy: 'agent' }, signal }),
    staleTime: 60_000,
  });
  if (!data) return <span className="text-dim">–</span>;
  const cost = data.groups.find(({ key }) => key === id)?.totalUsd ?? 0;
  return <span className="tabular-nums">{formatMoney(cost)}</span>;
}
