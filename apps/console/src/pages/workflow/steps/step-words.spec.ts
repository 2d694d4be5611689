import { summarizeStep, pickPropertiesWithoutField, createStepId } from './step-words';

describe('a step in words', () => {
  it('the summary of a workflow step shows its properties without its id, confidence and review', () => {
    const step = { id: 'a', type: 'fill', field: 'Name', value: '{{NAME}}', confidence: 0.4, review: 'needed' };
    expect(summarizeStep(step)).toBe('field Name, value {{NAME}}');
    expect(summarizeStep({ ...step, title: 'Write the name', timeout: 5 })).toBe(
      'fill, field Name, value {{NAME}}, timeout 5',
    );
  });

  it('pickPropertiesWithoutField returns the properties of a step that have no form field or are not text', () => {
    const step = { id: 'a', type: 'click', selector: ['#a', '#b'], text: 'Go', timeout: 5 };
    expect(pickPropertiesWithoutField(step, ['selector', 'field', 'text'])).toEqual({
      selector: ['#a', '#b'],
      timeout: 5,
    });
  });

  it('a new workflow step gets an id that no other step has', () => {
    expect(createStepId('click', [{ id: 'click-2' }])).toBe('click-3');
  });
});
