interface Labelled {
  labels: readonly string[];
}

export interface LabelGroup<T> {
  /** Null for the group of the agents without a label. */
  label: string | null;
  agents: T[];
}

/**
 * Groups agents by label, in the order of the labels; agents without a label come last. An agent with several labels is
 * in several groups.
 */
export function groupByLabel<T extends Labelled>(agents: readonly T[]): LabelGroup<T>[] {
  const groups = new Map<string, T[]>();
  for (const agent of agents) {
    for (const label of new Set(agent.labels)) groups.set(label, [...(groups.get(label) ?? []), agent]);
  }
  const labelled = [...groups].sort(([a], [b]) => a.localeCompare(b) || (a < b ? -1 : 1));
  const rest = agents.filter(({ labels }) => labels.length === 0);
  return [
    ...labelled.map(([label, members]) => ({ label, agents: members })),
    ...(rest.length > 0 ? [{ label: null, agents: rest }] : []),
  ];
}
