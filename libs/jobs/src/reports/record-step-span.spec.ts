import { redactVariableValues } from './record-step-span';

describe('a step’s name in a trace', () => {
  it.each([
    ['Read C-1042', ['C-1042'], 'Read …'],
    ['Read C-1042-7 and C-1042', ['C-1042', 'C-1042-7'], 'Read … and …'],
    ['Step 3 of 33', ['3'], 'Step … of 33'],
    ['Open a page', ['a', ''], 'Open … page'],
    ['What (a+b)? is', ['(a+b)?'], 'What … is'],
    ['Read x.y xzy', ['x.y'], 'Read … xzy'],
    ['Open the portal', [' ', ''], 'Open the portal'],
  ])('a trace shows the step name %p, without the values of the variables %j, as %p', (name, values, expected) =>
    expect(redactVariableValues(name, values)).toBe(expected),
  );
});
