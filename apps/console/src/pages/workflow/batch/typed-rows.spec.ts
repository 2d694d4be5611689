import { convertToCsv } from './typed-rows';

describe('rows typed into the batch dialog', () => {
  it('each typed line is one value if the workflow has one variable, and keeps its commas and quotes', () => {
    expect(convertToCsv('C-1\r\n\n Doe, "Jane" \n', ['CLAIM'])).toBe('"CLAIM"\n"C-1"\n"Doe, ""Jane"""\n');
  });

  it('rows that are pasted from a spreadsheet are split at tabs, and typed rows at commas', () => {
    expect(convertToCsv('Doe, Jane\tAcme\n"Roe, Rick",Best', ['PATIENT', 'PAYER'])).toBe(
      '"PATIENT","PAYER"\n"Doe, Jane","Acme"\n"Roe, Rick",Best\n',
    );
  });

  it('a first line with the names of all variables is the header of the typed rows', () => {
    expect(convertToCsv('payer, patient\nAcme,Doe', ['PATIENT', 'PAYER'])).toBe('"PAYER","PATIENT"\nAcme,Doe\n');
    expect(convertToCsv('payer,payer\nAcme,Doe', ['PATIENT', 'PAYER'])).toBe(
      '"PATIENT","PAYER"\npayer,payer\nAcme,Doe\n',
    );
  });

  it('a text without rows is converted to an empty CSV', () => {
    expect(convertToCsv(' \n', ['CLAIM'])).toBe('');
  });
});
