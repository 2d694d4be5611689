import { detailsOf, furtherOf, newId } from './step-words';

describe('a step in words', () => {
  it('says what it is about, and not how it came to be', () => {
    const step = { id: 'a', type: 'fill', field: 'Name', value: '{{NAME}}', confidence: 0.4, review: 'needed' };
    expect(detailsOf(step)).toBe('field Name, value {{NAME}}');
    expect(detailsOf({ ...step, title: 'Write the name', timeout: 5 })).toBe(
      'fill, field Name, value {{NAME}}, timeout 5',
    );
  });

  it('keeps what the form does not ask for, also a field that is no text', () => {
    const step = { id: 'a', type: 'click', selector: ['#a', '#b'], text: 'Go', timeout: 5 };
    expect(furtherOf(step, ['selector', 'field', 'text'])).toEqual({ selector: ['#a', '#b'], timeout: 5 });
  });

  it('has an id of its own', () => {
    expect(newId('click', [{ id: 'click-2' }])).toBe('click-3');
  });
});
