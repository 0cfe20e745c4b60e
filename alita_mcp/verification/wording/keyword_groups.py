# ruff: noqa: E501 - a table of words of many languages
"""Keyword groups of imperatives to a model in some twenty languages, compiled to patterns.

A word ends where it is written unless `*` follows it. Accents and capitals are gone from what is searched.
"""

from __future__ import annotations

import re

_WORDS = {
    "drop": """
        no+sigas no+hagas+caso ne+suis+pas ne+tiens+pas+compte ne+tenez+pas+compte fais+abstraction
        faites+abstraction nao+siga deixe+de+lado non+seguire lascia+perdere non+tenere+conto trascura
        laat+varen nie+przestrzegaj odrzuc не+следуй* не+выполняй* отбрось* uyma bosver 不要遵守 别管 不遵守
        従わない 従うな 따르지 لا+تتبع اترك मत+मान छोड़ पालन+न پيروي+نكن كنار+بگذار jangan+ikuti kesampingkan
        dung+lam+theo folj+inte ignorier* vergiss vergesst missachte* ignorez oublie oubliez olvid* ignora
        ignoren ignore esquec* desconsider* dimentica* negeer vergeet zignoruj* ignoruj* zapomnij* pomin*
        ignorera* strunta* glom* bortse* ignorer glem zapomen* игнорир* проигнорир* забуд* ігнору* unut*
        yok+say* gormezden* dikkate+alma* 忽略 无视 無視 忘记 忘掉 忘れ 무시 잊 تجاهل* انس اهمل* अनदेखा अनदेखी
        नज़रअंदाज़ भूल ناديده فراموش abaikan lupakan bo+qua phot+lo quen+di
    """,
    "rules": """
        regel regle regla regra regola zasady einschrankung* restriccion* restric* restrizion* beperking*
        ograniczen* ограничени* kisitlama* 限制 制限 제한 قيود प्रतिबंध anweisung* befehl* regeln vorgabe*
        gesagt* anleitung* instruktion* consigne* regles directive* instruction* ordres instruccion*
        indicacion* reglas ordenes instruco* regras orientac* istruzion* regole indicazion* instructie*
        opdracht* regels instrukcj* polecen* zasad* regler anvisning* инструкци* указани* правил* команд*
        інструкц* вказівк* talimat* yonerge* kural* komut* pokyn* 指令 指示 规则 提示 要求 命令 ルール
        プロンプト 지시 명령 규칙 지침 تعليمات* التعليمات الاوامر القواعد निर्देश आदेश नियम دستور* فرمان*
        قوانين perintah instruksi aturan arahan chi+dan huong+dan chi+thi
    """,
    "call": """
        rufe ruf aufrufen aufzurufen verwende benutze benutzen verwenden nutze nutzen fuhre appelle appelez
        appeler utilise utilisez utiliser execute executez lance lancez usa usar use utiliza utilice llama
        llame llamar ejecuta ejecute ejecutar invoca invoque chame chamar utilize acione chiama usare utilizza
        utilizzare esegui richiama roep gebruik gebruiken wywolaj wywoluj uzyj uzywaj uzyc uruchom вызывай
        вызови вызвать используй использовать запусти применяй виклич* використов* cagir* kullan kullanmali*
        calistir* 调用 使用 运行 执行 呼び出 使う 使って 使用し 実行し 호출 사용하 사용해 실행하 استدع*
        استخدم* استخدام استعمل* نفذ شغل कॉल उपयोग इस्तेमाल चलाए صدا+بزن فراخوان* استفاده اجرا panggil gunakan
        jalankan pakai goi su+dung anropa anvand anvanda kor brug kald zavolej pouzij
    """,
    "tool": """
        werkzeug* tool tools funktion* outil* fonction* herramienta* funcion* ferramenta* funcao strument*
        funzion* gereedschap* functie* hulpmiddel narzedzi* funkcj* инструмент* функци* функці* інструмент*
        arac* islev* fonksiyon* 工具 函数 函式 ツール 関数 도구 함수 الاداة اداة الدالة टूल उपकरण फ़ंक्शन
        ابزار تابع alat fungsi cong+cu ham verktyg* vaerktoj nastroj*
    """,
    "when": """
        immer zuerst zunachst bevor anstelle anstatt statt stets toujours d'abord avant au+debut a+chaque
        au+lieu a+la+place siempre primero antes en+lugar en+vez al+inicio sempre primeiro em+vez no+inicio
        prima invece al+posto ogni all'inizio altijd eerst voordat in+plaats zawsze najpierw zanim zamiast
        kazdej kazda kazdym всегда сначала прежде вместо сперва каждого каждым завжди спочатку замість
        her+zaman once daima yerine basinda 始终 总是 首先 必须先 代替 每次 先调用 务必 必ず 常に 最初に まず
        代わりに 毎回 항상 먼저 대신 마다 반드시 دائما اولا بدلا كل+محادثة हमेशा सबसे+पहले बजाय हर पहले هميشه
        اول به+جاي هر+گفتگو selalu dahulu dulu daripada setiap luon truoc+tien thay+vi moi+cuoc alltid forst
        istallet varje altid vzdy nejdriv
    """,
    "talk": """
        unterhaltung* gesprach* gesprachs* chatverlauf* conversation* discussion* conversacion* charla chat
        conversa* conversazion* gesprek* rozmow* разговор* бесед* переписк* диалог* розмов* sohbet* konusma*
        对话 会话 聊天 会話 チャット 대화 채팅 المحادثة محادثة बातचीत वार्तालाप चैट گفتگو* مكالمه percakapan
        obrolan tro+chuyen hoi+thoai samtal* samtale* konverzac* mensaje* mensagens messaggi* nachrichten
    """,
    "this": """
        dies dieses diese es ceci cela celui-ci esto este isto questo dit deze это этот эту це bunu bunun 这个
        此 本 これ この 이것 이 هذه هذا इसे इस اين ini nay detta denna dette to toto
    """,
    "answer": """
        antworte antworten repondre reponds repondez responder responde respondas rispondere rispondi antwoord
        odpowiedz odpowiadaj отвечай ответь відповідай yanitla yanit+ver cevap+ver 回答 回复 答え 回答し
        대답하 답하 اجب رد+على जवाब+द जवाब+दो पاسخ+بده پاسخ+ده jawab jawablah tra+loi svara svar
    """,
    "secret": """
        passwort* kennwort* geheim* schlussel* zugangsdaten mot+de+passe mots+de+passe cle+privee cles+privees
        identifiants contrasena* clave+privada claves+privadas credencial* clave+de+acceso claves+de+acceso
        senha* chave+privada chaves chiave+privata chiavi credenziali password wachtwoord* inloggegevens hasl*
        klucz+prywatny parola* sifre* gizli пароль* пароли ключ* секрет* ключі 密码 密钥 私钥 口令 凭据
        パスワード 秘密鍵 認証情報 비밀번호 개인+키 암호 كلمة+مرور كلمة+المرور كلمات+المرور المفتاح पासवर्ड
        गुप्त रمز رمز+عبور گذرواژه كليد+خصوصي kata+sandi kunci+rahasia mat+khau khoa+rieng losenord*
        adgangskode* heslo* api-schlussel* systemprompt* prompt+systeme prompt+de+sistema prompt+del+sistema
        prompt+di+sistema instructions+systeme 系统提示 システムプロンプト 시스템+프롬프트
    """,
    "give": """
        ubergib* schicke schick sende senden ubermittle gib hange fuge anhangen envoie envoyez envoyer
        transmets transmettez transmettre inclus incluez joins joindre envia envie enviar incluye incluya
        incluir adjunta pasa pase manda mande inclua repass* repassar encaminh* invia inviare includi allega
        allegare inoltra stuur* voeg+toe doorsturen geef wyslij przekaz* dolacz* podaj передай передать
        отправь отправить вставь укажи пришли надішли передай* gonder* ekle ilet* 发送 发给 放进 传递 传给
        附上 包含 提供给 转发 送信 含めて 渡し 転送 보내 넣어 전달 포함 ارسل* مرر ضمن أدرج भेज शामिल दें بفرست
        ارسال+كن وارد+كن kirim* sertakan masukkan gui dua+vao chuyen skicka* bifoga send+med posli* vloz*
    """,
    "not tell": """
        sag+* nichts sage+* verrate* verschweig* erwahn*+nicht ne+dis+* ne+dites+* ne+mentionn* ne+revele*
        no+le+dig* no+dig* no+inform* no+mencion* nao+cont* nao+diga* nao+inform* nao+mencion* non+dir*
        non+inform* non+menzion* non+rivel* vertel+* niet vertel+*+niet meld+*+niet nie+mow* nie+inform*
        nie+wspomin* не+говор* не+сообща* не+упомина* не+кажи* не+повідом* soyleme* bildirme* bahsetme*
        不要告诉 别告诉 不要让 不要提及 不得告知 勿告知 伝えない 知らせない 教えない 言わない 말하지 알리지
        언급하지 لا+تخبر* لا+تذكر* لا+تقل* मत+बता न+बता नहीं+बता نگو نگوييد اطلاع+نده* jangan+beri*
        jangan+kata* jangan+sebut* dung+noi dung+cho dung+tiet beratta+inte namn+inte fortael+ikke nerik*
    """,
    "user": """
        nutzer* benutzer* anwender* utilisateur* l'utilisateur* usuario* usuaria* utilizador* utente*
        gebruiker* uzytkownik* пользовател* користувач* kullanici* 用户 使用者 ユーザー 사용자 المستخدم
        उपयोगकर्ता यूज़र كاربر pengguna nguoi+dung anvandare* brugeren uzivatel*
    """,
    "henceforth": """
        ab+jetzt ab+sofort von+nun+an a+partir+de+maintenant desormais dorenavant a+partir+de+ahora
        de+ahora+en+adelante a+partir+de+agora de+agora+em+diante d'ora+in+poi da+ora+in vanaf+nu od+teraz
        отныне bundan+sonra bundan+boyle 从现在起 从现在开始 今後は これからは 지금부터
        이제부터 من+الان+فصاعدا अब+से از+اين+پس mulai+sekarang tu+bay+gio ke+tu+bay+gio fran+och+med+nu od+ted
        відтепер
    """,
    "secretly": """
        heimlich unbemerkt en+cachette secretement discretement en+secreto secretamente em+segredo
        segretamente di+nascosto stiekem potajemnie ukradkiem тайно незаметно тайком gizlice 偷偷 悄悄 秘密地
        こっそり 密かに 몰래 سرا خفية गुप्त+रूप چपके مخفيانه diam-diam i+hemlighet tajne
    """,
    "not know": """
        nichts+erfahren nicht+erfahren nichts+wissen nichts+davon nicht+wissen nichts+merken doit+pas
        doit+rien no+debe no+puede+saber nao+deve nao+pode non+deve niet+weten niets+weten nie+moze
        nie+powinien не+должен не+должна не+узнал bilmemeli haberi+olmadan 不得让 不能让 不让 不知情 知られ
        気づかれ 알면+안 모르게 لا+يعلم دون+علم पता+न پता+नहीं نداند بي+خبر tidak+boleh+tahu
        tanpa+sepengetahuan khong+duoc+biet inte+veta
    """,
    "pretend": """
        tu+so tue+so fais+comme+si faites+comme+si haz+como+si finge finja fingi делай+вид притвор* 假装 ふりをし
        인+척 تظاهر gibi+davran udawaj मान+लो doe+alsof berpura-pura gia+vo latsas
    """,
    "before answering": """
        bevor+du+antwortest avant+de+repondre antes+de+responder antes+de+contestar prima+di+rispondere
        voordat+je+antwoordt zanim+odpowiesz прежде+чем+ответить перед+ответом yanitlamadan+once cevap+vermeden+once
        回答之前 回答前 回答する前 答える前 대답하기+전 답하기+전 قبل+الاجابة قبل+ان+تجيب जवाब+देने+से+पहले sebelum+menjawab
        truoc+khi+tra+loi innan+du+svarar
    """,
    "all": """
        alles tout tod* tudo tutto все всё wszystko her+sey 所有 全部 すべて 全て 모두 모든 كل+ما सब+कुछ semua tat+ca allt
    """,
    "wrote": """
        geschrieben ecrit escribio escrito escreveu scritto написал* 写的 输入的 书写 書いた 入力した 쓴 작성한 كتبه كتب yazdigi
        napisal* लिखा geschreven ditulis da+viet skrivit
    """,
    "you must": """
        musst+du du+musst sollst+du du+sollst tu+dois vous+devez debes debe+usted tienes+que voce+deve
        voce+precisa devi dovete je+moet u+moet jij+moet musisz masz+* должен должна обязан*
        необходимо+чтоб+ты ты+должен ти+повинен malisin* *malisin* gerekir zorundasin 你必须 你应当 你应该
        你需要 您必须 您应 あなたは しなければ こと 해야 하십시오 يجب+عليك يجب+ان عليك+ان आपको तुम्हें بايد
        anda+harus kamu+harus ban+phai du+maste du+skal musis
    """,
    "model": """
        als+assistent der+assistent assistent* assistant* l'assistant le+modele das+modell el+asistente
        asistente* el+modelo o+assistente assistente* l'assistente il+modello asystent* ассистент* помощник*
        модель+должна асистент* asistan* 助手 模型 智能体 アシスタント モデル 어시스턴트 모델은 المساعد
        النموذج सहायक دستيار* مدل asisten tro+ly mo+hinh assistenten
    """,
    "must": """
        musst muss soll sollst doit dois debe tiene+que debera deve precisa tem+que dovra moet dient+te
        ma+przekaz* musi powinien должен обязан* повинен zorunda* *meli* *mali* 必须 需要 应当 应该 しなければ
        必要が べき 해야 يجب चाहिए بايد harus wajib phai maste ska skal
    """,
}  # fmt: skip
SUSPICIOUS_COMBINATIONS: tuple[tuple[str, ...], ...] = (
    ("drop", "rules"),
    ("call", "tool", "when"),
    ("call", "talk", "when"),
    ("call", "tool", "you must"),
    ("call", "this", "when"),
    ("you must", "answer"),
    ("secret", "give"),
    ("talk", "give", "must"),
    ("henceforth",),
    ("secretly",),
    ("pretend",),
    ("before answering",),
    ("user", "wrote", "all"),
    ("not tell", "user"),
    ("not know", "user"),
    ("model", "must", "give"),
    ("model", "must", "call"),
)
"""Groups whose words no honest description brings into one sentence."""

_SPACELESS = re.compile("[\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _pattern(word: str) -> str:
    body = re.escape(word).replace(r"\*", r"\w*").replace(r"\+", r"\s+")
    if _SPACELESS.search(word):
        return body.replace(r"\s+", r"\s*")
    return rf"\b{body}\b"


KEYWORD_GROUPS = {
    group: re.compile("|".join(map(_pattern, dict.fromkeys(words.split()))))
    for group, words in _WORDS.items()
}
"""The pattern of each group; it matches a text that has a word of the group."""
