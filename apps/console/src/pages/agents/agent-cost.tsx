import { useQuery } from '@tanstack/react-query';
import { costsCosts } from '../../api/generated';
import { formatMoney } from '../../format/format';

/** What an agent's runs of the last 30 days cost: asked for once, for all the rows that show it. */
export function AgentCost({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ['costs', 'by agent'],
    queryFn: ({ signal }) => costsCosts({ query: { groupBy: 'agent' }, signal }),
    staleTime: 60_000,
  });
  if (!data) return <span className="text-dim">–</span>;
  const cost = data.groups.find(({ key }) => key === id)?.totalUsd ?? 0;
  return <span className="tabular-nums">{formatMoney(cost)}</span>;
}
