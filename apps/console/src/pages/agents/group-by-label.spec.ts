import { groupByLabel } from './group-by-label';

describe('groupByLabel', () => {
  const agent = (name: string, ...labels: string[]) => ({ name, labels });
  const namesOf = (agents: ReturnType<typeof agent>[]) =>
    groupByLabel(agents).map(({ label, agents: members }) => [label, members.map(({ name }) => name)]);

  it('an agent is in the group of each of its labels, and agents without a label come last', () => {
    expect(namesOf([agent('1', 'north', 'front-desk'), agent('2'), agent('3', 'front-desk')])).toEqual([
      ['front-desk', ['1', '3']],
      ['north', ['1']],
      [null, ['2']],
    ]);
  });

  it('labels that differ in case are different groups, and a repeated label counts once', () => {
    expect(
      namesOf([agent('1', 'b', 'b'), agent('2', 'B')])
        .map(([label]) => label)
        .sort(),
    ).toEqual(['B', 'b']);
    expect(namesOf([agent('1', 'b', 'b')])).toEqual([['b', ['1']]]);
    expect(namesOf([])).toEqual([]);
  });
});
