import { detailsOf, furtherOf, newId } from './step-words';

describe('a step in words', () => {
  it('shows the properties of a step without its origin', () => {
    const step = { id: 'a', type: 'fill', field: 'Name', value: '{{NAME}}', confidence: 0.4, review: 'needed' };
    expect(detailsOf(step)).toBe('field Name, value {{NAME}}');
    expect(detailsOf({ ...step, title: 'Write the name', timeout: 5 })).toBe(
      'fill, field Name, value {{NAME}}, timeout 5',
    );
  });

  it('keeps properties without a form field, and properties that are not text', () => {
    const step = { id: 'a', type: 'click', selector: ['#a', '#b'], text: 'Go', timeout: 5 };
    expect(furtherOf(step, ['selector', 'field', 'text'])).toEqual({ selector: ['#a', '#b'], timeout: 5 });
  });

  it('gives a new step a unique id', () => {
    expect(newId('click', [{ id: 'click-2' }])).toBe('click-3');
  });
});
