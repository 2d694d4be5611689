import { groupByLabel } from './group-by-label';

describe('groupByLabel', () => {
  const makeAgent = (name: string, ...labels: string[]) => ({ name, labels });
  const groupNamesByLabel = (agents: ReturnType<typeof makeAgent>[]) =>
    groupByLabel(agents).map(({ label, agents: members }) => [label, members.map(({ name }) => name)]);

  it('an agent is in the group of each of its labels, and agents without a label come last', () => {
    expect(
      groupNamesByLabel([makeAgent('1', 'north', 'front-desk'), makeAgent('2'), makeAgent('3', 'front-desk')]),
    ).toEqual([
      ['front-desk', ['1', '3']],
      ['north', ['1']],
      [null, ['2']],
    ]);
  });

  it('labels that differ in case are different groups, and a repeated label counts once', () => {
    expect(
      groupNamesByLabel([makeAgent('1', 'b', 'b'), makeAgent('2', 'B')])
        .map(([label]) => label)
        .sort(),
    ).toEqual(['B', 'b']);
    expect(groupNamesByLabel([makeAgent('1', 'b', 'b')])).toEqual([['b', ['1']]]);
    expect(groupNamesByLabel([])).toEqual([]);
  });
});
